package stats

// Folds assigns n rows to k grouped folds of about one size, those of a group to one fold, and returns the fold of
// each, for k-fold cross-validation. There are fewer folds where there are fewer groups.
func Folds(n, k int, o Options) []int { return folds(n, k, o) }
