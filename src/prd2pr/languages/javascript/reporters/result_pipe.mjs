// Reports results through a pipe, each line with a secret that is read once and not stored where others can read it.
// All functions used later are captured here, before code of the project can replace them.
import fs from "node:fs";

const { writeSync, readFileSync } = fs;
const { stringify, parse } = JSON;
const { create, getPrototypeOf, keys } = Object;
const { apply } = Reflect;
const text = String;
const slice = String.prototype.slice;
const MAX_LENGTH = 4000;
const ERROR_FIELDS = ["name", "code", "message", "stack", "operator"];

const given = parse(readFileSync(0, "utf8"));
const { secret, pipe } = given;

export const parameters = create(null);
parameters.file = given.file;

function toBareObject(fields) {
  const bare = create(null); // without a prototype, so that no toJSON can be added
  const names = keys(fields);
  for (let at = 0; at < names.length; at += 1) bare[names[at]] = fields[names[at]];
  return bare;
}

export function report(fields) {
  const line = secret + " " + stringify(toBareObject(fields)) + "\n";
  for (let left = line; left; ) {
    try {
      writeSync(pipe, left);
      left = "";
    } catch (problem) {
      if (problem.code !== "EAGAIN") throw problem;
    }
  }
}

function toShortText(value) {
  try {
    return apply(slice, text(value ?? ""), [0, MAX_LENGTH]);
  } catch {
    return "";
  }
}

// Returns an error as plain data. Anything can be thrown, and its properties may throw when read.
export function describeError(error) {
  const found = create(null);
  for (let at = 0; at < ERROR_FIELDS.length; at += 1) {
    const name = ERROR_FIELDS[at];
    try {
      found[name] = toShortText(error?.[name]);
    } catch {
      found[name] = "";
    }
  }
  if (error === null || (typeof error !== "object" && typeof error !== "function")) found.message = toShortText(error);
  try {
    found.kind = toShortText(getPrototypeOf(error)?.constructor?.name);
    found.matcher = Boolean(error?.matcherResult) || Boolean(error?.showDiff !== undefined);
    found.explicit = error?.operator === "fail";
  } catch {
    found.kind = "";
  }
  return found;
}
