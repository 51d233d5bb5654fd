# Reads go test -json. Prints a line for each package, the output of every test that failed, and at the end
# each test that was skipped with its reason, the counts, and the kinds of processor whose kernels were tried, as the
# variable kinds names them.

# field returns the value of one of the line's fields, unescaped.
function field(name,    s) {
	if (!match($0, "\"" name "\":\"([^\"\\\\]|\\\\.)*\"")) return ""
	s = substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 5)
	gsub(/\\n/, "\n", s); gsub(/\\t/, "\t", s); gsub(/\\"/, "\"", s); gsub(/\\u003c/, "<", s)
	gsub(/\\u003e/, ">", s); gsub(/\\u0026/, "\\&", s); gsub(/\\\\/, "\\", s)
	return s
}

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
action == "fail" && !whole { printf "%s", log_[test]; failed++ }
action == "pass" && !whole { passed++ }
(action == "pass" || action == "fail" || action == "skip") && !whole { delete log_[test] }

END {
	if (n) print "\nskipped:"
	for (i = 0; i < n; i++) print "  " skipped[i]
	printf "\n%d tests passed, %d failed, %d were skipped\n", passed, failed, n
	if (kinds != "") print "kinds of processor tried: " kinds
}
