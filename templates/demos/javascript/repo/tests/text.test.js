import { test } from "node:test";
import assert from "node:assert/strict";
import { words } from "../src/text.js";

test("a text is split into words", () => {
  assert.deepEqual(words("Snow, again!"), ["Snow", "again"]);
});

test("no words in an empty text", () => {
  assert.deepEqual(words(" - "), []);
});
