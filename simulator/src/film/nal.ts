/** What a unit holds, and how much others depend on it (H.264, table 7-1). */
export const UNIT = { idr: 0x65, next: 0x61, sequence: 0x67, picture: 0x68 } as const

const ESCAPE = 3

/** A unit of the stream: its head, and the payload with an escape wherever it could be taken for a start code (section 7.4.1). */
export function nal(head: number, payload: Buffer): Buffer {
  const pieces: Buffer[] = [Buffer.from([head])]
  let from = 0
  let zeros = 0
  for (let at = 0; at < payload.length; at += 1) {
    const byte = payload[at] ?? 0
    if (zeros === 2 && byte <= ESCAPE) {
      pieces.push(payload.subarray(from, at), Buffer.from([ESCAPE]))
      from = at
      zeros = 0
    }
    zeros = byte === 0 ? zeros + 1 : 0
  }
  return Buffer.concat([...pieces, payload.subarray(from)])
}
