/** A flat name, value list without the headers whose names are out. */
export function headersWithout(headers: readonly string[], isOut: (name: string) => boolean): string[] {
  return headers.filter((_, index) => !isOut(headers[index - (index % 2)] ?? ''))
}

/** Headers that the gateway sets itself, and what they say. */
export const OWN_HEADERS = new Map([
  // The gateway does not decode answers, so it asks for plain bytes.
  ['accept-encoding', 'identity'],
  ['user-agent', 'model-gateway'],
])
