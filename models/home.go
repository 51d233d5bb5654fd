package models

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/adrg/xdg"
)

// Home returns the folder that holds models, engines and caches: $ASSAY_HOME, or assay in the user's
// data folder. It need not exist yet.
func Home() (string, error) {
	if dir := os.Getenv("ASSAY_HOME"); dir != "" {
		return filepath.Abs(dir)
	}
	if !filepath.IsAbs(xdg.DataHome) {
		return "", errors.New("this user has no data folder: set ASSAY_HOME to a folder for models and caches")
	}
	return filepath.Join(xdg.DataHome, "assay"), nil
}
