// Package head holds the classification heads that llama.cpp has not: a few small matrices over what a model's last
// layer says, pooled into one vector. They lie in a file of their own beside the model, NAME.head.json beside
// NAME.gguf, which assay models import writes, and are computed in Go.
//
// A file is one JSON object:
//
//	{
//	  "version": 1,
//	  "pooling": "first",             what it reads: the vector of the "first" token, the "last", "each", or the "mean"
//	  "chat": false,                  a pair is a question and its answer in the model's chat template
//	  "labels": ["no", "yes"],        of the outputs, in their order; left out where the model names none
//	  "activation": "softmax",        what is put over the outputs: "softmax", "sigmoid", or "linear" for nothing
//	  "layers": [                     in the order in which they are computed
//	    {
//	      "weight": {"shape": [768, 768], "f32": "..."},   a row for each output; float32, little-endian, base64
//	      "bias": {"shape": [768], "f32": "..."},
//	      "activation": "tanh",                           "tanh", "relu", "gelu" (exact), "silu", or left out
//	      "norm": {"shape": [768], "f32": "..."},         weight of a layer norm after the activation
//	      "norm_bias": {"shape": [768], "f32": "..."},
//	      "epsilon": 1e-5                                 of that norm
//	    }
//	  ]
//	}
//
// Files are untrusted: their size, shapes and numbers are bounded and checked when they are read.
package head
