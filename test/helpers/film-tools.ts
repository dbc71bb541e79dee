import { spawn, spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type FilmTool = 'ffprobe' | 'ffmpeg'

/**
 * Why a test that needs a tool is left out, for `t.test`'s `skip`; false where the tool is there, and in CI, where it has
 * to be.
 */
export function without(tool: FilmTool): string | false {
  if (process.env.CI === 'true') return false
  const isThere = spawnSync(tool, ['-version'], { stdio: 'ignore' }).status === 0
  return isThere ? false : `${tool} is not installed (Debian: ffmpeg)`
}

export interface Probe {
  readonly codec: string
  readonly profile: string
  readonly width: number
  readonly height: number
  readonly seconds: number
  readonly frames: number
  readonly comment: string | undefined
}

/** What ffprobe makes of a file; it reads from a pipe, so that only what plays unchanged can be read. */
export async function probe(file: Uint8Array): Promise<Probe> {
  const asked = ['-count_frames', '-show_streams', '-show_format', '-of', 'json', '-']
  const { output } = await run('ffprobe', ['-v', 'error', ...asked], file)
  const { streams, format } = JSON.parse(output.toString())
  const [stream] = streams
  return {
    codec: stream.codec_name,
    profile: stream.profile,
    width: stream.width,
    height: stream.height,
    seconds: Number(format.duration ?? stream.duration),
    frames: Number(stream.nb_read_frames),
    comment: format.tags?.comment,
  }
}

/** Every picture of a film as samples of its colours, in the planes of YUV 4:2:0; throws at anything that is not right. */
export async function decode(file: Uint8Array): Promise<Buffer> {
  const asked = ['-f', 'rawvideo', '-pix_fmt', 'yuv420p', '-fps_mode', 'passthrough', '-']
  const { output, errors } = await run('ffmpeg', ['-v', 'error', '-xerror', '-i', '-', ...asked], file)
  if (errors !== '') throw new Error(errors)
  return output
}

/** What ffprobe makes of a sound that comes as a file; durations of some containers are reported at their end alone. */
export async function probeSound(file: Uint8Array): Promise<{ readonly codec: string; readonly seconds: number }> {
  return asFile(file, async path => {
    const { output } = await run('ffprobe', ['-v', 'error', '-show_streams', '-show_format', '-of', 'json', path])
    const { streams, format } = JSON.parse(output.toString())
    return { codec: streams[0].codec_name, seconds: Number(format.duration) }
  })
}

/** Every sample of a sound at 24 kHz; throws at anything that is not right. */
export async function decodeSound(file: Uint8Array): Promise<Int16Array> {
  const asked = ['-f', 's16le', '-ar', '24000', '-ac', '1', '-']
  const { output, errors } = await run('ffmpeg', ['-v', 'error', '-xerror', '-i', '-', ...asked], file)
  if (errors !== '') throw new Error(errors)
  return new Int16Array(new Uint8Array(output).buffer)
}

/** Red, green, blue and alpha of every pixel of a picture; throws at anything that is not right. */
export async function decodePicture(file: Uint8Array): Promise<Buffer> {
  const asked = ['-f', 'rawvideo', '-pix_fmt', 'rgba', '-frames:v', '1', '-']
  return asFile(file, async path => {
    const { output, errors } = await run('ffmpeg', ['-v', 'error', '-xerror', '-i', path, ...asked])
    if (errors !== '') throw new Error(errors)
    return output
  })
}

async function asFile<T>(file: Uint8Array, use: (path: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'sound-'))
  try {
    const path = join(folder, 'file')
    await writeFile(path, file)
    return await use(path)
  } finally {
    await rm(folder, { recursive: true })
  }
}

function run(
  tool: FilmTool,
  options: readonly string[],
  input: Uint8Array = new Uint8Array(),
): Promise<{ output: Buffer; errors: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(tool, options, { timeout: 60_000 })
    const output: Buffer[] = []
    let errors = ''
    child.stdout.on('data', chunk => output.push(chunk))
    child.stderr.on('data', chunk => {
      errors += chunk
    })
    // It may have seen enough before it has read all.
    child.stdin.on('error', () => {})
    child.on('error', reject)
    child.on('close', code => {
      if (code === 0) resolve({ output: Buffer.concat(output), errors })
      else reject(new Error(`${tool} ended with ${code}: ${errors}`))
    })
    child.stdin.end(input)
  })
}
