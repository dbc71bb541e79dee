/** Headers of one connection, by lower-case names: RFC 9110 §7.6.1, and RFC 9113 §8.2.2. */
export const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
