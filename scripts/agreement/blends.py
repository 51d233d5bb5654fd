"""Makes the judges that come with Assay of what assay judge train fitted: blends.py FITS DIGEST INTO. DIGEST is that of
the encoder which they are used with; they were fitted to what an earlier stage of its training said."""

import json
import os
import sys
from glob import glob

KEPT = ("format", "metric", "label", "embedding_model", "encoder_model", "offset", "features")


def main(fits, digest, into):
    os.makedirs(into, exist_ok=True)
    for path in sorted(glob(f"{fits}/*.json")):
        with open(path, encoding="utf-8") as file:
            fit = json.load(file)
        # A feature without a weight costs what it costs and says nothing.
        fit["features"] = [f for f in fit["features"] if f["weight"] != 0 or f["without"] != 0]
        fitted = {"to": [{k: s[k] for k in ("dataset", "sha256", "rows", "groups")} for s in fit["training"]["sets"]],
                  "with": fit["encoder_model"]["digest"]}
        blend = {k: fit[k] for k in KEPT if k in fit} | {
            "metric": os.path.basename(path).removesuffix(".json") + "/blend",
            "encoder_model": {"name": "encoder-judge", "digest": digest}, "fitted": fitted}
        if not any("cosine" in f["metric"] or "alignment" in f["metric"] for f in fit["features"]):
            del blend["embedding_model"]
        with open(os.path.join(into, os.path.basename(path)), "w", encoding="utf-8") as file:
            json.dump(blend, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
