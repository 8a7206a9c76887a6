/** Minutes since midnight of a time like `09:30`. */
export function minutes(time: string): number {
  const [hours, rest] = time.split(":").map(Number);
  return hours * 60 + rest;
}
