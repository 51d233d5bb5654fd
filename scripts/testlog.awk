# Reads go test -json. Prints a line for each package, the output of every test that failed, and at the end
# each test that was skipped with its reason, the counts, and the kinds of processor whose kernels were tried, as the
# variable kinds names them. Of a package that panicked or ran out of time go test may not say which test failed: then
# the tests that had not ended are named, with what they said from the panic on, and the package counts as one that
# failed. So does a package that does not compile.

# field returns the value of one of the line's fields, unescaped.
function field(name,    s) {
	if (!match($0, "\"" name "\":\"([^\"\\\\]|\\\\.)*\"")) return ""
	s = substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 5)
	gsub(/\\n/, "\n", s); gsub(/\\t/, "\t", s); gsub(/\\"/, "\"", s); gsub(/\\u003c/, "<", s)
	gsub(/\\u003e/, ">", s); gsub(/\\u0026/, "\\&", s); gsub(/\\\\/, "\\", s)
	return s
}

# died names the tests of a package that had not ended, and prints up to shown lines of what each said, from the panic
# on where there is one. It returns how many tests that are.
function died(package,    i, k, n, from, lines, count) {
	for (i = 1; i <= begun; i++) {
		if (!(order[i] in running) || index(order[i], package " ") != 1) continue
		print "--- NOT ENDED: " order[i]
		n = split(log_[order[i]], lines, "\n")
		if (lines[n] == "") n--
		from = 1
		for (k = n; k > 0; k--) if (lines[k] ~ /^(panic|fatal error): /) from = k
		for (k = from; k <= n && k < from + shown; k++) if (lines[k] !~ /^=== RUN/) print lines[k]
		if (n >= from + shown) printf "... and %d lines more in the whole log\n", n - from - shown + 1
		delete running[order[i]]; delete log_[order[i]]
		count++
	}
	return count
}

BEGIN { shown = 80 }

!/^\{/ { print; fflush(); next } # not of go test -json: its own complaints

{
	action = field("Action"); output = field("Output")
	test = field("Package") " " field("Test"); whole = field("Test") == ""
}
action == "build-output" { printf "%s", output; next }
action == "output" && whole && output !~ /^(PASS|FAIL)\n$/ { printf "%s", output; fflush(); next }
action == "output" {
	log_[test] = log_[test] output
	if (output ~ /^ +[^ ]/ && output !~ /^ *--- /) last[test] = output
}
action == "skip" && !whole {
	reason = last[test]; sub(/^ +/, "", reason); sub(/\n$/, "", reason); sub(/^[^ ]+:[0-9]+: /, "", reason)
	skipped[n++] = test ": " reason
}
action == "run" { running[test] = 1; order[++begun] = test }
action == "fail" && !whole { printf "%s", log_[test]; failed++; failures[field("Package")]++ }
action == "pass" && !whole { passed++ }
(action == "pass" || action == "fail" || action == "skip") && !whole { delete log_[test]; delete running[test] }
action == "fail" && whole {
	if (died(field("Package")) || !failures[field("Package")]) failed++
	delete failures[field("Package")]
	fflush()
}

END {
	if (n) print "\nskipped:"
	for (i = 0; i < n; i++) print "  " skipped[i]
	printf "\n%d tests passed, %d failed, %d were skipped\n", passed, failed, n
	if (kinds != "") print "kinds of processor tried: " kinds
}
