/** `1 model`, `2 models`: of words that take an s. */
export function numbered(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}
