"""Make Go functions return other values: a test that still passes does not check the result."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.languages.golang.files import parse_source
from prd2pr.languages.golang.functions import Function, find_changed_functions
from prd2pr.languages.mutation_plan import Edit, ReturnReplacement
from prd2pr.languages.syntax import get_field, get_line, get_text, list_children

if TYPE_CHECKING:
    from tree_sitter import Node

_IMPORTS = '; import prd2pr_reflect "reflect"; import prd2pr_unsafe "unsafe"; import prd2pr_errors "errors"'
# If a result includes an error, either the error is removed or the other values change. This distinguishes tests that
# only check for an error from those that check the value.
_OTHER = """
func NAME(salt int, results ...interface{}) {
	if last := len(results) - 1; last > 0 {
		if err, is := results[last].(*error); is {
			if *err != nil {
				*err = nil
				return
			}
			results = results[:last]
		}
	}
	for _, each := range results {
		NAME_of(prd2pr_reflect.ValueOf(each).Elem(), salt, 0)
	}
}

func NAME_of(v prd2pr_reflect.Value, salt int, depth int) {
	if depth > 4 {
		return
	}
	switch v.Kind() {
	case prd2pr_reflect.Bool:
		v.SetBool(!v.Bool())
	case prd2pr_reflect.Int, prd2pr_reflect.Int8, prd2pr_reflect.Int16, prd2pr_reflect.Int32, prd2pr_reflect.Int64:
		v.SetInt(v.Int() + int64(salt))
	case prd2pr_reflect.Uint, prd2pr_reflect.Uint8, prd2pr_reflect.Uint16, prd2pr_reflect.Uint32, prd2pr_reflect.Uint64:
		v.SetUint(v.Uint() + uint64(salt))
	case prd2pr_reflect.Float32, prd2pr_reflect.Float64:
		v.SetFloat(v.Float()*2 + float64(salt))
	case prd2pr_reflect.String:
		v.SetString(v.String() + "~")
	case prd2pr_reflect.Slice:
		if v.Len() == 0 {
			v.Set(prd2pr_reflect.MakeSlice(v.Type(), 1, 1))
			return
		}
		made := prd2pr_reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		prd2pr_reflect.Copy(made, v)
		NAME_of(made.Index(0), salt, depth+1)
		v.Set(made)
	case prd2pr_reflect.Array:
		if v.Len() > 0 {
			NAME_of(v.Index(0), salt, depth+1)
		}
	case prd2pr_reflect.Map:
		made := prd2pr_reflect.MakeMap(v.Type())
		if v.Len() == 0 {
			made.SetMapIndex(prd2pr_reflect.Zero(v.Type().Key()), prd2pr_reflect.Zero(v.Type().Elem()))
		}
		v.Set(made)
	case prd2pr_reflect.Ptr:
		made := prd2pr_reflect.New(v.Type().Elem())
		if !v.IsNil() {
			made.Elem().Set(v.Elem())
			NAME_of(made.Elem(), salt, depth+1)
		}
		v.Set(made)
	case prd2pr_reflect.Struct:
		if path := v.Type().PkgPath(); path == "sync" || path == "sync/atomic" {
			return
		}
		for at := 0; at < v.NumField(); at++ {
			field := v.Field(at)
			if v.Type().PkgPath() == "time" && field.Kind() == prd2pr_reflect.Ptr {
				continue
			}
			NAME_of(prd2pr_reflect.NewAt(field.Type(), prd2pr_unsafe.Pointer(field.UnsafeAddr())).Elem(), salt, depth+1)
		}
	case prd2pr_reflect.Interface:
		if v.Type() == prd2pr_reflect.TypeOf((*error)(nil)).Elem() {
			if v.IsNil() {
				v.Set(prd2pr_reflect.ValueOf(prd2pr_errors.New("another answer")))
			} else {
				v.Set(prd2pr_reflect.Zero(v.Type()))
			}
		} else if !v.IsNil() {
			made := prd2pr_reflect.New(v.Elem().Type()).Elem()
			made.Set(v.Elem())
			NAME_of(made, salt, depth+1)
			v.Set(made)
		}
	}
}
"""


def replace_return_values(path: str, before: str, after: str) -> tuple[ReturnReplacement, ...]:
    """Make each new or changed function return another value, and do nothing."""
    root = parse_source(after)
    found: list[ReturnReplacement] = []
    for number, function in enumerate(find_changed_functions(before, after)):
        place = (path, get_line(function.node), function.name)
        if changed := _make_other_return(path, root, function, number + 1):
            found.append(ReturnReplacement(*place, "other", changed))
        found.append(ReturnReplacement(*place, "nothing", (_make_empty_return(function),)))
    return tuple(found)


def _make_empty_return(function: Function) -> Edit:
    """Return early; the rest stays, so that nothing it uses becomes unused."""
    at = _find_opening(function)
    values = ", ".join(_make_zero(kind) for kind, _ in _list_results(function.node))
    return at, at, f" if true {{ return {values} }}; "


def _make_zero(kind: str) -> str:
    """Return a zero value. Pointers are not nil, so that a test fails by its assertion, not by a nil dereference."""
    return f"new({kind[1:]})" if kind.startswith("*") else f"*new({kind})"


def _make_other_return(path: str, root: Node, function: Function, salt: int) -> tuple[Edit, ...]:
    results = _list_results(function.node)
    clause = next(iter(list_children(root, "package_clause")), None)
    if not results or clause is None:
        return ()
    name = "prd2prOther" + hashlib.sha256(path.encode()).hexdigest()[:8]
    names = [given or f"prd2prResult{at}" for at, (_, given) in enumerate(results)]
    shown = ", ".join(f"{given} {kind}" for given, (kind, _) in zip(names, results, strict=True))
    pointers = ", ".join(f"&{given}" for given in names)
    result = get_field(function.node, "result")
    return (
        (clause.end_byte, clause.end_byte, _IMPORTS),
        (
            result.start_byte if result is not None else _find_opening(function),
            _find_opening(function),
            f"({shown}) {{ defer {name}({salt}, {pointers}); ",
        ),
        (root.end_byte, root.end_byte, _OTHER.replace("NAME", name)),
    )


def _find_opening(function: Function) -> int:
    body = function.body
    return body.start_byte + 1 if body is not None else function.node.end_byte


def _list_results(node: Node) -> list[tuple[str, str]]:
    """Return type and name of each result; unnamed ones have an empty name."""
    result = get_field(node, "result")
    if result is None:
        return []
    return list(_walk_results(result)) if result.type == "parameter_list" else [(get_text(result), "")]


def _walk_results(result: Node) -> Iterator[tuple[str, str]]:
    for each in list_children(result):
        kind = get_field(each, "type")
        names = [get_text(name) for name in each.children_by_field_name("name")]
        for name in names or [""]:
            yield get_text(kind) if kind is not None else get_text(each), "" if name == "_" else name
