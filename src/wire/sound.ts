/** Sound of the lowest usual rate (8 kbit/s): it lasts no longer than its bytes at this rate. */
const LOWEST_BYTES_PER_SECOND = 1000
/** 192 kHz of eight channels with 32 bits each. */
const MOST_BYTES_PER_SECOND = 192_000 * 8 * 4
/** What sound most likely lasts of what its bytes may last: 32 kbit/s. */
const LIKELY_SHARE = 1 / 4

/** How many of its first bytes tell how long a file lasts. */
export const SOUND_HEAD_BYTES = 64
/** The smallest head of uncompressed WAVE, with that of its samples. */
const WAVE_BYTES = 44
const [PCM, FLOAT, EXTENSIBLE] = [1, 3, 0xfffe]
/** Where the format of an extensible one is. */
const SUB_FORMAT = 44

/** A file of a form. */
export interface SoundFile {
  readonly size: number
  /** Its first {@link SOUND_HEAD_BYTES}. */
  readonly head: Buffer
}

/** Seconds. */
interface Duration {
  readonly most: number
  readonly likely: number
}

/** How long files, or a body that is one, last as sound: as the heads of uncompressed ones say, else by their bytes. At least a second. */
export function durationOf(media: Buffer | readonly SoundFile[]): Duration {
  const files = Buffer.isBuffer(media) ? [{ size: media.length, head: media }] : media
  let most = 0
  let likely = 0
  for (const { size, head } of files) {
    const rate = waveRate(head)
    const longest = rate === undefined ? size / LOWEST_BYTES_PER_SECOND : (size - WAVE_BYTES) / rate
    most += longest
    likely += rate === undefined ? longest * LIKELY_SHARE : longest
  }
  return { most: Math.max(1, Math.ceil(most)), likely: Math.max(1, Math.ceil(likely)) }
}

/**
 * Bytes of a second of uncompressed WAVE whose format comes first, as encoders write it; the fewest, where a head contradicts
 * itself. Undefined for everything else.
 */
function waveRate(head: Buffer): number | undefined {
  if (head.length < WAVE_BYTES || head.toString('latin1', 0, 4) !== 'RIFF') return undefined
  if (head.toString('latin1', 8, 16) !== 'WAVEfmt ') return undefined
  const named = head.readUInt16LE(20)
  const format = named === EXTENSIBLE && head.length >= SUB_FORMAT + 2 ? head.readUInt16LE(SUB_FORMAT) : named
  if (format !== PCM && format !== FLOAT) return undefined
  const frame = Math.min(head.readUInt16LE(32), head.readUInt16LE(22) * Math.ceil(head.readUInt16LE(34) / 8))
  const rate = Math.min(head.readUInt32LE(28), head.readUInt32LE(24) * frame)
  return rate > 0 && rate <= MOST_BYTES_PER_SECOND ? rate : undefined
}
