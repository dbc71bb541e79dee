/** A flat name, value list without the headers whose names are out. */
export function headersWithout(headers: readonly string[], isOut: (name: string) => boolean): string[] {
  return headers.filter((_, index) => !isOut(headers[index - (index % 2)] ?? ''))
}
