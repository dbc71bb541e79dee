import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../src/core/package-root.js'

/** The recipes of docs/cookbook: each is a configuration, its files and its tests. */

const FOLDER = join(packageRoot(), 'docs', 'cookbook')

interface Block {
  /** What the line that opens the block says after the backticks. */
  readonly info: string
  readonly text: string
}

export interface Recipe {
  readonly name: string
  readonly page: string
  readonly blocks: readonly Block[]
  /** The configuration: the first block that is `yaml` alone. */
  readonly config: string
  readonly tests: string
}

export const INDEX = readFileSync(join(FOLDER, 'index.md'), 'utf8')

export function recipeOf(name: string, page: string): Recipe {
  const found = page.matchAll(/^```([^\n]+)\n([\s\S]*?)^```$/gm)
  const blocks = Array.from(found, ([, info = '', text = '']) => ({ info, text }))
  return { name, page, blocks, config: blockOf(name, blocks, 'yaml'), tests: blockOf(name, blocks, 'yaml test') }
}

/** The only block of this kind. */
function blockOf(name: string, blocks: readonly Block[], info: string): string {
  const found = blocks.filter(block => block.info === info)
  if (found.length !== 1) throw new Error(`${name}: ${found.length} blocks are \`\`\`${info}; a recipe has one`)
  return found[0]?.text ?? ''
}

const names = readdirSync(FOLDER).filter(name => name.endsWith('.md') && name !== 'index.md')
export const RECIPES = names.map(name => recipeOf(name.replace(/\.md$/, ''), readFileSync(join(FOLDER, name), 'utf8')))

/** A recipe by its name, and its block of a language. */
export function recipe(name: string): Recipe & { block(info: string): string } {
  const found = RECIPES.find(one => one.name === name)
  if (found === undefined) throw new Error(`there is no recipe ${name}`)
  return { ...found, block: info => blockOf(name, found.blocks, info) }
}

/** The text with another in place of a part, which has to be there. */
export function replaced(text: string, from: string, to: string): string {
  if (!text.includes(from)) throw new Error(`the recipe does not have: ${from}`)
  return text.replace(from, to)
}
