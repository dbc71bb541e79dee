import type { Problem } from '../../core/problems.js'
import { fileName, sentence } from './told.js'

/**
 * One workflow command a problem, which annotates the line in a pull request:
 * https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
 */
export function github(problems: readonly Problem[]): string {
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
  return `::${problem.severity} ${list.join(',')}::${data(sentence(problem))}`
}

// The escapes of @actions/toolkit, packages/core/src/command.ts.
function data(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function property(text: string): string {
  return data(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}
