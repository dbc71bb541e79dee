import type { Writable } from 'node:stream'
import type { LogConfig, LogLevel } from '../core/log-config.js'
import { type Peers, topic } from '../core/peers.js'
import { type Log, type LogState, openLog } from '../sinks/log.js'
import { messageOf, StartError } from './problems.js'

/**
 * The log of a process. `common`: that of its supervisor, whose level holds until the file has another one. Throws
 * {@link StartError} where its file cannot be opened.
 */
export function startLog(
  config: LogConfig,
  stream: Writable | undefined,
  worker: number | undefined,
  common?: LogState,
): Log {
  try {
    const log = openLog(config, stream, worker)
    if (common?.configured === config.level) log.level(common.level)
    return log
  } catch (cause) {
    throw new StartError(`cannot write the log (log.to.file): ${messageOf(cause)}`)
  }
}

/** The admin API has changed the level. */
const LEVEL = topic<LogLevel, null>('log: level')

/** Changes the level here, in the other workers and in their supervisor. */
export async function changeLevel(level: LogLevel, log: Log, peers: Peers): Promise<void> {
  log.info(
    { from: log.state.level, to: level },
    'the level of the log was changed by the admin API, until the file has another one',
  )
  log.level(level)
  if (peers.number === 0) return
  peers.report(LEVEL, level)
  await peers.ask(LEVEL, level)
}

/** Takes over what others of the workers are asked for. */
export function followLevel(log: Log, peers: Peers): void {
  peers.on(LEVEL, level => {
    log.level(level)
    return null
  })
}
