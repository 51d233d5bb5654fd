pytest_plugins = ["pytest_assay"]
