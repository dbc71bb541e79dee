import { setTimeout as pause } from 'node:timers/promises'
import { CommandError, EXIT, type Io, print, printable } from '../io.js'
import { type Asked, ask, askObject, errorMessage } from './ask.js'
import { bytesFrom, keep } from './media.js'

/** Between two looks at a video: short at first, as simulators and small models are fast. */
const FIRST_POLL_MS = 250
const LONGEST_POLL_MS = 10_000

/** A video of the text: begun, asked for until it ends or `waitMs` is over, and written to a file. */
export async function film({ target, model, text }: Asked, file: string, waitMs: number, io: Io): Promise<void> {
  const until = performance.now() + waitMs
  let task = await askObject(target, '/v1/videos', { model, prompt: text })
  const { id } = task
  if (typeof id !== 'string') throw new CommandError('the answer names no video', EXIT.failed)
  const path = `/v1/videos/${encodeURIComponent(id)}`
  print(io.stderr, `${printable(id)} has begun`)
  for (let poll = FIRST_POLL_MS; isUnderWay(task.status); poll = Math.min(2 * poll, LONGEST_POLL_MS)) {
    const left = until - performance.now()
    if (left <= 0)
      throw new CommandError(
        `the video is not done yet: wait longer with --wait, or ask for ${path} later`,
        EXIT.failed,
      )
    await pause(Math.min(poll, left))
    task = await askObject(target, path)
  }
  if (task.status !== 'completed') {
    const why = printable(errorMessage(task) ?? String(task.status))
    throw new CommandError(`the video was not made: ${why}`, EXIT.failed)
  }
  await keep(file, await bytesFrom(await ask(target, `${path}/content`)), io)
}

function isUnderWay(status: unknown): boolean {
  return status === 'queued' || status === 'in_progress'
}
