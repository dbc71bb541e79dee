// Frames of a spoken conversation, of an exact size: audio in base64 inside a JSON event, as both sides send it.
import { randomBytes } from 'node:crypto'

/** A masked frame that is `size` bytes long in all. */
export function clientFrame(size) {
  return frame('{"type":"input_audio_buffer.append","audio":"', '"}', size, randomBytes(4))
}

/** A frame of the server that is `size` bytes long in all. */
export function serverFrame(size) {
  const start =
    '{"type":"response.output_audio.delta","event_id":"event_1","response_id":"resp_1","item_id":"item_1","delta":"'
  return frame(start, '"}', size, undefined)
}

function frame(start, end, size, key) {
  const head = size < 132 ? 2 : 4
  const length = size - head - (key === undefined ? 0 : 4)
  const payload = Buffer.from(start + 'A'.repeat(length - start.length - end.length) + end)
  const bytes = Buffer.alloc(head)
  bytes[0] = 0x81
  bytes[1] = (key === undefined ? 0 : 0x80) | (head === 2 ? length : 126)
  if (head === 4) bytes.writeUInt16BE(length, 2)
  if (key === undefined) return Buffer.concat([bytes, payload])
  return Buffer.concat([bytes, key, payload.map((byte, at) => byte ^ key[at & 3])])
}
