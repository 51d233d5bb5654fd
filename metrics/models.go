package metrics

import (
	"github.com/assay-eval/assay/backend"
)

// Models is what a metric may ask. [Run] gives each Score call its own, which notes the keys of the
// answers used.
type Models struct {
	Judge    backend.Backend // generates and scores; nil if no metric needs one
	Embedder backend.Backend // embeds; nil if no metric needs one
	Prompts  Prompts         // the texts to ask with

	calls *calls
}
