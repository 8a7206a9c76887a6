import { expect, test } from "vitest";
import { minutes } from "../src/clock";

test("a time in minutes since midnight", () => {
  expect(minutes("09:30")).toBe(570);
  expect(minutes("00:05")).toBe(5);
});
