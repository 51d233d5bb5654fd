module github.com/assay-eval/assay

go 1.26.0
