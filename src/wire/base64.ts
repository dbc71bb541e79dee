/** `data:audio/webm;codecs=opus;base64,` */
const DATA_URL = /^data:([a-z0-9.+-]+\/[a-z0-9.+-]+)?((?:;[a-z0-9-]+=[\w.%+-]+)*);base64,/i
const BASE64 = /^([A-Za-z0-9+/_-]*)={0,2}$/
const HEX = /^(?:[0-9a-f]{2})+$/i
/** Characters that hold three bytes. */
const GROUP_CHARS = 4

/** The media type of a data URL, with its parameters, and its base64; `undefined` for other texts. */
export function dataUrlOf(text: string): { readonly type: string; readonly base64: string } | undefined {
  const [head, type, parameters = ''] = DATA_URL.exec(text) ?? []
  if (head === undefined) return undefined
  return {
    type: type === undefined ? 'application/octet-stream' : `${type}${parameters}`,
    base64: text.slice(head.length),
  }
}

/** The bytes that base64, or a data URL, stands for; `undefined` where a text is neither, or empty. */
export function bytesOfBase64(text: string): Buffer | undefined {
  const digits = BASE64.exec(dataUrlOf(text)?.base64 ?? text)?.[1]
  // One character alone holds no byte.
  if (digits === undefined || digits === '' || digits.length % GROUP_CHARS === 1) return undefined
  return Buffer.from(digits, 'base64')
}

/** The bytes that hexadecimal digits stand for; `undefined` where a text has others, or none. */
export function bytesOfHex(text: string): Buffer | undefined {
  return HEX.test(text) ? Buffer.from(text, 'hex') : undefined
}
