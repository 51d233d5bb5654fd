package remote

import "errors"

// ErrReplaced says that a server has no longer the model, or the version, that an engine was opened with: its answers
// would be another's.
var ErrReplaced = errors.New("start the run again")
