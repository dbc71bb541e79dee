import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Problem } from '../../core/problems.js'
import { version } from '../command.js'
import { fileName, sentence } from './told.js'

/** A SARIF 2.1.0 log with one run: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html */
export function sarif(problems: readonly Problem[]): string {
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
