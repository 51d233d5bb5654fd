package stats

// PassAll is an unbiased estimate of how probable it is that k draws of a row all pass, by n draws of which c did:
// C(c,k) / C(n,k), whose mean over rows is pass^k (Yao et al. 2024, tau-bench, arXiv 2406.12045). It takes
// 0 <= c <= n and 1 <= k <= n.
func PassAll(n, c, k int) float64 {
	p := 1.0
	for i := range k {
		p *= float64(max(c-i, 0)) / float64(n-i)
	}
	return p
}

// PassAny is the same for one at least of k draws: 1 - C(n-c,k) / C(n,k), whose mean over rows is pass@k (Chen et al.
// 2021, arXiv 2107.03374, section 2.1).
func PassAny(n, c, k int) float64 { return 1 - PassAll(n, n-c, k) }
