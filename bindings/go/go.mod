module toolglot

go 1.19
