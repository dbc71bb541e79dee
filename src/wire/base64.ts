/** `data:audio/mpeg;base64,` */
const DATA_URL = /^data:([a-z0-9.+-]+\/[a-z0-9.+-]+)?(?:;[a-z0-9-]+=[a-z0-9.-]+)*;base64,/i
const BASE64 = /^([A-Za-z0-9+/_-]*)={0,2}$/
/** Characters that hold three bytes. */
const GROUP_CHARS = 4

/** The bytes that base64, or a data URL, stands for; `undefined` where a text is neither, or empty. */
export function bytesOfBase64(text: string): Buffer | undefined {
  const head = DATA_URL.exec(text)?.[0] ?? ''
  const data = head === '' ? text : text.slice(head.length)
  const digits = BASE64.exec(data)?.[1]
  // One character alone holds no byte.
  if (digits === undefined || digits === '' || digits.length % GROUP_CHARS === 1) return undefined
  return Buffer.from(digits, 'base64')
}
