import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { endSignals } from '../core/platform.js'
import { SIGNAL_STATUS } from './signals.js'

/** A folder while `use` runs. It is removed also where the process ends before. */
export async function inTemporaryFolder<T>(prefix: string, use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), prefix))
  // A command that was started may still write into it.
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  const removeAtLast = (): void => {
    try {
      remove()
    } catch {
      // The exit code is that of the command.
    }
  }
  const end = (signal: NodeJS.Signals): never => process.exit(SIGNAL_STATUS + constants.signals[signal])
  // A command that handles a signal itself decides what that one does.
  const signals = endSignals().filter(signal => process.listenerCount(signal) === 0)
  process.on('exit', removeAtLast)
  for (const signal of signals) process.on(signal, end)
  try {
    return await use(folder)
  } finally {
    process.off('exit', removeAtLast)
    for (const signal of signals) process.off(signal, end)
    remove()
  }
}
