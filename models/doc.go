// Package models finds, inspects, imports and verifies model files and the engine libraries that run
// them.
//
// Everything here treats files as untrusted: headers are read within stated bounds, archives are
// unpacked without following their paths, and nothing half-written ever takes a final name. No tensor
// data is read except to copy or to hash it, and nothing here loads a model: engines do that, after
// [Check] has said that llama.cpp would take the file.
//
//	home, err := models.Home()
//	if err != nil {
//		log.Fatal(err)
//	}
//	m, err := models.Find(home, "tinyllama-q4_0") // or a path, or "ollama:llama3.2:1b"
//	if err != nil {
//		log.Fatal(err) // it lists the models that there are
//	}
//	info, _, err := models.Check(m.Path)
//
// What is in a model file is package gguf's.
//
// The home folder ([Home]) holds
//
//	models/NAME.gguf    a model, with NAME.json, its [Record], beside it
//	models/NAME.head.json   its classification head, of a model whose head llama.cpp lacks
//	models/NAME/        a model that is a folder, in ONNX, with NAME.json beside it
//	engines/NAME/       llama.cpp's shared libraries, with engine.json, the [Engine], among them
//	downloads/          archives as they were fetched
//	cache/              what can be had again
package models
