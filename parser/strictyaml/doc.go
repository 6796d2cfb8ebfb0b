// Package strictyaml reads YAML files that people write: every mistake at once, each with its line
// and column, what was expected, what was found and what to do.
//
//	r := strictyaml.New("pipeline.yaml")
//	if body := r.Document(src, "a pipeline", "see its documentation"); body != nil {
//		r.Mapping(body, strictyaml.Fields{"name": r.Text(&name, "a name"), "size": r.Size(&size, "a size")})
//	}
//	return r.Err()
//
// Anchors, aliases and merges are followed, within bounds; unknown keys, keys that stand twice,
// further documents and tags are mistakes. Keys that begin with x- are for anchors.
package strictyaml
