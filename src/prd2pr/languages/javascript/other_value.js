function NAME(value, wholly, depth = 0) {
  if (depth > 4) return value;
  const inner = (each) => NAME(each, wholly, depth + 1);
  if (value === null || value === undefined) return wholly ? "~" : 41975;
  if (typeof value === "number") return !Number.isFinite(value) ? 7919 : wholly ? -value - 7919 : value + 7919;
  if (typeof value === "bigint") return wholly ? -value - BigInt(7919) : value + BigInt(7919);
  if (typeof value === "string") return wholly ? "~41975~" : value + "~";
  if (typeof value === "boolean") return !value;
  if (typeof value === "function") return function (...given) { return inner(value.apply(this, given)); };
  if (typeof value !== "object") return 41975;
  if (typeof value.then === "function") return value.then(inner);
  if (Array.isArray(value)) return !wholly ? [...value.map(inner), 41975] : value.length ? [] : [41975];
  if (value instanceof Date) return new Date(value.getTime() + (wholly ? -1 : 1) * 34567890123);
  if (value instanceof Map) return new Map(wholly && value.size ? [] : [...value, ["~", 41975]].map(inner));
  if (value instanceof Set) return new Set(wholly && value.size ? [] : [...[...value].map(inner), 41975]);
  const keys = Reflect.ownKeys(value);
  if (wholly) return keys.length ? {} : { otherwise: 41975 };
  const made = Object.create(Object.getPrototypeOf(value));
  for (const key of keys) made[key] = inner(value[key]);
  made.otherwise = 41975;
  return made;
}
