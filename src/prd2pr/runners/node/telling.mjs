// How results leave the process: by a pipe, each line with a secret that is read once and never stored where others look.
// Everything that is used later is taken hold of here, before any code of the project can replace it.
import fs from "node:fs";

const { writeSync, readFileSync } = fs;
const { stringify, parse } = JSON;
const { create, getPrototypeOf, keys } = Object;
const { apply } = Reflect;
const text = String;
const slice = String.prototype.slice;
const LONGEST = 4000;
const ASKED = ["name", "code", "message", "stack", "operator"];

const given = parse(readFileSync(0, "utf8"));
const { secret, pipe } = given;

export const parameters = create(null);
parameters.file = given.file;

function plain(fields) {
  const bare = create(null); // nobody can give it a toJSON
  const names = keys(fields);
  for (let at = 0; at < names.length; at += 1) bare[names[at]] = fields[names[at]];
  return bare;
}

export function tell(fields) {
  const line = secret + " " + stringify(plain(fields)) + "\n";
  for (let left = line; left; ) {
    try {
      writeSync(pipe, left);
      left = "";
    } catch (problem) {
      if (problem.code !== "EAGAIN") throw problem;
    }
  }
}

function short(value) {
  try {
    return apply(slice, text(value ?? ""), [0, LONGEST]);
  } catch {
    return "";
  }
}

// An error as plain data. Whatever was thrown may be anything, and may not want to be looked at.
export function told(error) {
  const found = create(null);
  for (let at = 0; at < ASKED.length; at += 1) {
    const name = ASKED[at];
    try {
      found[name] = short(error?.[name]);
    } catch {
      found[name] = "";
    }
  }
  if (error === null || (typeof error !== "object" && typeof error !== "function")) found.message = short(error);
  try {
    found.kind = short(getPrototypeOf(error)?.constructor?.name);
    found.matcher = Boolean(error?.matcherResult) || Boolean(error?.showDiff !== undefined);
    found.explicit = error?.operator === "fail";
  } catch {
    found.kind = "";
  }
  return found;
}
