import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import { quotedSuggestion, shownFile } from '../config/problems.js'
import { withSlashes } from '../core/platform.js'
import type { Problem } from '../core/problems.js'
import { version } from './command.js'

/** Writes problems for a machine. No line break at the end. */
export type Format = (problems: readonly Problem[]) => string

export const FORMATS: Readonly<Record<'github' | 'json' | 'sarif', Format>> = { github, json, sarif }

/** A file relative to the working directory where it lies below it, with slashes on every platform. */
function fileName(file: string): string {
  return withSlashes(shownFile(file))
}

/** Path, message and suggestion in one line of text. */
function sentence({ path, message, suggestion }: Problem): string {
  const where = path === '' ? '' : `${path}: `
  return `${where}${message}${suggestion === undefined ? '' : `; did you mean ${quotedSuggestion(suggestion)}?`}`
}

/** One JSON document: `{ valid, problems }`, the problems as {@link Problem} describes them. */
function json(problems: readonly Problem[]): string {
  const valid = problems.every(problem => problem.severity !== 'error')
  const shown = problems.map(problem => ({
    ...problem,
    position: { ...problem.position, file: fileName(problem.position.file) },
  }))
  return JSON.stringify({ valid, problems: shown }, undefined, 2)
}

/**
 * One workflow command a problem, which annotates the line in a pull request:
 * https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
 */
function github(problems: readonly Problem[]): string {
  return problems.map(command).join('\n')
}

function command(problem: Problem): string {
  const { file, line, column } = problem.position
  const properties = {
    file: fileName(file),
    line,
    col: column,
    endColumn: column + problem.length,
    title: problem.rule,
  }
  const list = Object.entries(properties).map(([name, value]) => `${name}=${property(String(value))}`)
  const word = problem.severity === 'note' ? 'notice' : problem.severity
  return `::${word} ${list.join(',')}::${data(sentence(problem))}`
}

// The escapes of @actions/toolkit, packages/core/src/command.ts.
function data(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function property(text: string): string {
  return data(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}

/** A SARIF 2.1.0 log with one run: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html */
function sarif(problems: readonly Problem[]): string {
  const rules = [...new Set(problems.map(problem => problem.rule))].sort()
  const driver = { name: 'model-gateway', version: version(), rules: rules.map(id => ({ id })) }
  const results = problems.map(problem => result(problem, rules.indexOf(problem.rule)))
  const run = { tool: { driver }, columnKind: 'unicodeCodePoints', results }
  const log = { $schema: 'https://json.schemastore.org/sarif-2.1.0.json', version: '2.1.0', runs: [run] }
  return JSON.stringify(log, undefined, 2)
}

function result(problem: Problem, ruleIndex: number): object {
  const { position, length, path, excerpt } = problem
  const region = {
    startLine: position.line,
    startColumn: position.column,
    endColumn: position.column + length,
    ...(excerpt === undefined ? {} : { snippet: { text: excerpt } }),
  }
  return {
    ruleId: problem.rule,
    ruleIndex,
    level: problem.severity,
    message: { text: sentence(problem) },
    locations: [
      {
        physicalLocation: { artifactLocation: { uri: uri(position.file) }, region },
        ...(path === '' ? {} : { logicalLocations: [{ fullyQualifiedName: path }] }),
      },
    ],
  }
}

function uri(file: string): string {
  const name = fileName(file)
  return isAbsolute(name) ? pathToFileURL(name).href : name.split('/').map(encodeURIComponent).join('/')
}
