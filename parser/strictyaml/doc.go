// Package strictyaml reads YAML files that people write. It reports every mistake at once. Each
// mistake has its line and column, what was expected, what was found, and what to do.
//
//	r := strictyaml.New("pipeline.yaml")
//	if body := r.Document(src, "a pipeline", "see its documentation"); body != nil {
//		r.Mapping(body, strictyaml.Fields{"name": r.Text(&name, "a name"), "size": r.Size(&size, "a size")})
//	}
//	return r.Err()
//
// Anchors, aliases and merges work, up to a limit. Unknown keys, repeated keys, a second document,
// and tags are mistakes. Keys that begin with x- may be used for anchors and are ignored.
package strictyaml
