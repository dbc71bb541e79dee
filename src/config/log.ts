import { resolve } from 'node:path'
import { DEFAULTS } from '../core/defaults.generated.js'
import {
  LOG_FORMATS,
  LOG_LEVELS,
  type LogConfig,
  type LogFile,
  type LogFormat,
  type LogLevel,
} from '../core/log-config.js'
import { type Context, interpolate } from './context.js'
import type { Document, Site } from './document.js'
import { sectionOf } from './entries.js'
import type { RawLogFile } from './raw.generated.js'
import { readDuration, readSize } from './settings.js'

/** Settings of the command line; they win over the file. */
export interface LogOverrides {
  readonly logLevel?: LogLevel
  readonly logFormat?: LogFormat
}

export function readLog(
  main: Document,
  site: Site,
  { logLevel, logFormat }: LogOverrides,
  context: Context,
): LogConfig {
  const { level, format, to, sample, fields } = sectionOf(main, 'log') ?? {}
  const word = <W extends string>(name: 'level' | 'format', written: W, words: readonly W[]): W => {
    const place = site.child(name)
    const text: string = interpolate(written, place, context)
    const found = words.find(one => one === text)
    if (found === undefined && !context.report.unfilled.has(text)) {
      context.report.error('bad-value', place, `this variable is not one of ${words.join(', ')}`)
    }
    return found ?? (DEFAULTS.log[name] as W)
  }
  return {
    level: logLevel ?? word('level', (level ?? DEFAULTS.log.level) as LogLevel, LOG_LEVELS),
    format: logFormat ?? word('format', (format ?? DEFAULTS.log.format) as LogFormat, LOG_FORMATS),
    ...(to === undefined || to === 'stderr' ? {} : { to: readFile(to, main, site.child('to'), context) }),
    ...(sample === undefined ? {} : { sample }),
    ...(fields === undefined ? {} : { fields }),
  }
}

function readFile(raw: RawLogFile, main: Document, site: Site, context: Context): LogFile {
  const { file, size, age, keep } = raw
  return {
    file: resolve(main.source.folder, interpolate(file, site.child('file'), context)),
    size: size === undefined ? DEFAULTS.logFile.size : readSize(size, site.child('size'), context),
    age: age === undefined ? DEFAULTS.logFile.age : readDuration(age, site.child('age'), context),
    keep: keep ?? DEFAULTS.logFile.keep,
  }
}
