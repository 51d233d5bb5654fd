// Package gollama alone needs go-llama.cpp, which no longer lives: in a module of its own, it is in the build list of
// nobody who does not ask for it.
module github.com/assay-eval/assay/backend/gollama

go 1.26.0

require (
	github.com/assay-eval/assay v0.0.0-00010101000000-000000000000
	github.com/go-skynet/go-llama.cpp v0.0.0-20240314183750-6a8041ef6b46
)

require (
	github.com/adrg/xdg v0.5.3 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/assay-eval/assay => ../..
