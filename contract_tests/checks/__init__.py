"""The checks. One class of bug per file; :data:`contract_tests.catalogue.CHECKS` lists them."""
