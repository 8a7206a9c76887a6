/** The words of a text, without what stands between them. */
export function words(text) {
  return text.match(/[\p{L}\p{N}]+/gu) ?? [];
}
