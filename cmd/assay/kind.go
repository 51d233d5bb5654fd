package main

import (
	"github.com/assay-eval/assay/backend"
)

// kindOf is the kind of an installed model that a role takes, as assay models lists it. A reward model is an encoder
// though it has the role of the judge.
func kindOf(want wanted) string {
	switch {
	case want.role.Kind() == backend.Embedder:
		return "embedding"
	case want.ops.Has(backend.CanClassify):
		return "encoder"
	case want.ops.Has(backend.CanLabelTokens):
		return "token classifier"
	}
	return string(want.role.Kind())
}

const modelsHelp = `
Usage: assay models [list]                         the models on this machine, Ollama's included
       assay models inspect MODEL                  what a model file says of itself
       assay models import --name NAME FILE...     add a GGUF file, its parts in order, or a folder with
                                                   an encoder in ONNX (or one of its .onnx files), or
                                                   with a BERT, RoBERTa or ModernBERT in safetensors
       assay models import --name NAME --head FOLDER FILE
                                                   add a GGUF file with the classification head, which it
                                                   lacks, of the Hugging Face folder that it was made of
       assay models verify [MODEL...]              read models whole and compare their digests
       assay models tune MODEL                     requantise a model to what is fastest here, if that
                                                   is faster by a tenth: it measures
       assay models remove MODEL
       assay models engine [--gpu KIND]            the llama.cpp libraries: which are used; fetch and
                                                   use those for a graphics card, or for none
       assay models engine --onnx                  ONNX Runtime's library: it is fetched where needed

MODEL is a name from the list, the path of a GGUF file or of an encoder in ONNX, or ollama:NAME[:TAG]
for a model that Ollama has, which is used where it lies. Models live in $ASSAY_HOME, or else in your
data folder.
`
