"""Go functions that answer something else: a test that passes all the same does not look at the answer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.core.bite.plan import Answering
from prd2pr.core.bite.text import Edit
from prd2pr.core.other.golang.files import root_of
from prd2pr.core.other.golang.functions import Function, changed_functions
from prd2pr.core.other.syntax import children, line_of, part, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_IMPORTS = '; import prd2pr_reflect "reflect"; import prd2pr_unsafe "unsafe"; import prd2pr_errors "errors"'
# Of an answer with an error either the error is taken away, or the rest is another: so a test that only asks whether
# there was an error is told from one that looks at what it got.
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


def other_answers(path: str, before: str, after: str) -> tuple[Answering, ...]:
    """Each function that is new or was changed, once with another answer and once without doing anything."""
    root = root_of(after)
    found: list[Answering] = []
    for number, function in enumerate(changed_functions(before, after)):
        place = (path, line_of(function.node), function.name)
        if changed := _other(path, root, function, number + 1):
            found.append(Answering(*place, "other", changed))
        found.append(Answering(*place, "nothing", (_nothing(function),)))
    return tuple(found)


def _nothing(function: Function) -> Edit:
    """The rest stays, out of reach: so nothing that it uses becomes unused."""
    at = _opening(function)
    values = ", ".join(_zero(kind) for kind, _ in _results(function.node))
    return at, at, f" if true {{ return {values} }}; "


def _zero(kind: str) -> str:
    """A pointer leads to something: else a test would fail for want of it, and not by what it asserts."""
    return f"new({kind[1:]})" if kind.startswith("*") else f"*new({kind})"


def _other(path: str, root: Node, function: Function, salt: int) -> tuple[Edit, ...]:
    results = _results(function.node)
    clause = next(iter(children(root, "package_clause")), None)
    if not results or clause is None:
        return ()
    name = "prd2prOther" + hashlib.sha256(path.encode()).hexdigest()[:8]
    names = [given or f"prd2prResult{at}" for at, (_, given) in enumerate(results)]
    shown = ", ".join(f"{given} {kind}" for given, (kind, _) in zip(names, results, strict=True))
    asked = ", ".join(f"&{given}" for given in names)
    result = part(function.node, "result")
    return (
        (clause.end_byte, clause.end_byte, _IMPORTS),
        (
            result.start_byte if result is not None else _opening(function),
            _opening(function),
            f"({shown}) {{ defer {name}({salt}, {asked}); ",
        ),
        (root.end_byte, root.end_byte, _OTHER.replace("NAME", name)),
    )


def _opening(function: Function) -> int:
    body = function.body
    return body.start_byte + 1 if body is not None else function.node.end_byte


def _results(node: Node) -> list[tuple[str, str]]:
    """Type and name of each; the name is empty where there is none."""
    result = part(node, "result")
    if result is None:
        return []
    return list(_listed(result)) if result.type == "parameter_list" else [(text_of(result), "")]


def _listed(result: Node) -> Iterator[tuple[str, str]]:
    for each in children(result):
        kind = part(each, "type")
        names = [text_of(name) for name in each.children_by_field_name("name")]
        for name in names or [""]:
            yield text_of(kind) if kind is not None else text_of(each), "" if name == "_" else name
