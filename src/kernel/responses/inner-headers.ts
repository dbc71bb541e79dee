/** Headers that belong to the connection or to the bytes that came by it, and not to the request that is made of them. */
const LEFT =
  /^(connection|upgrade|keep-alive|te|trailer|transfer-encoding|content-length|content-type|expect|accept-encoding|x-request-id|sec-websocket-.*)$/i

/** The head of a request for one that is made of it inside the process. Flat name, value lists. */
export function innerHeaders(rawHeaders: readonly string[]): string[] {
  const kept: string[] = []
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = [rawHeaders[index], rawHeaders[index + 1]]
    if (!LEFT.test(name)) kept.push(name, value)
  }
  kept.push('content-type', 'application/json')
  return kept
}
