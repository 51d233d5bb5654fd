package stats

// Folds deals n rows into k parts of about one size, those of a group into the same part, and returns the part of
// each. There are fewer parts where there are fewer groups.
func Folds(n, k int, o Options) []int { return folds(n, k, o) }
