package likelihood

import (
	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
)

// history is the example of a conversation's earlier turns.
var history = []metrics.Turn{{Role: backend.User, Said: "<history>"}, {Role: backend.Assistant, Said: "<reply>"}}
