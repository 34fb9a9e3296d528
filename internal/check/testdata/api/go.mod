module example.org/a/api

go 1.26.0
