// Package bounds checks a Parquet file for what would make github.com/parquet-go/parquet-go take more memory than the
// file can be worth, before the library reads it. Package parquet calls it: the footer first, then each row group.
//
// The checks are there because nobody can recover from running out of memory or stack, and the library (v0.32.0)
// can be brought to both by a file of a few bytes. TestHostile of package parquet has the files; without the checks
//
//   - a footer of 7 bytes whose list claims 2^31 row groups asks for 189 GB, one with 2^15 leaves and 2^18 empty row
//     groups for 69 GB, and 16 MiB of lists in lists overflow the stack;
//   - 2 kB of run lengths become more than 4 GiB, 2^31 differences are given 17 GB before the first is read, 71 kB of
//     values that repeat each other become 2 GiB, and a dictionary of 2^24 entries of 2^15 bytes is given 550 GB;
//   - a page is unpacked to whatever comes out (34 kB of zstd to 300 MiB), not to what its header says, and for four
//     bytes that are not LZ4 the buffer is doubled until there is no memory left.
//
// A declared size cannot stand in for these checks, since the library does not hold a page to it. So a page
// is unpacked twice, which takes about a tenth of the time of reading. The codecs are those that the library itself
// imports. What it checks itself, such as sizes below 0, groups with more members than the schema has and pages with
// fewer values than they say, is left to it, or checked here only as far as the checks themselves need it.
package bounds
