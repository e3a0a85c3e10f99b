import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { jobFileJsonSchema } from '../src/config/job-schema.ts';
import type { Warehouse } from '../src/warehouse/connect.ts';
import {
  type Column,
  type Relation,
  readColumns,
  readRelations,
  renderDataDictionary,
} from './data-dictionary.ts';
import { renderDbtSources } from './dbt-sources.ts';
import { withOptionsTable } from './options-table.ts';

/** What `npm run schema` writes, by path. */
export function schemaFiles(): Record<string, string> {
  return { 'jobs/job.schema.json': `${JSON.stringify(jobFileJsonSchema(), null, 2)}\n` };
}

/** What `npm run dictionary` writes, by path: what a migrated database and the definitions of the commands say. */
export async function dictionaryFiles(db: Warehouse): Promise<Record<string, string>> {
  const [relations, columns] = [await readRelations(db), await readColumns(db)];
  return {
    'docs/data-dictionary.md': renderDataDictionary(relations, columns),
    'docs/dbt/sources.yml': renderDbtSources(relations, columns),
    'migrations/relations.txt': listOfRelations(relations, columns),
    'docs/reference.md': await withOptionsTable(
      await readFile(join(import.meta.dirname, '../docs/reference.md'), 'utf8'),
    ),
  };
}

/** One line each: `table`, its name and its columns; `view` and its name. `gmsi doctor` looks for them. */
function listOfRelations(relations: readonly Relation[], columns: readonly Column[]): string {
  const lines = relations.flatMap(({ kind, name }) => {
    if (kind === 'function') return [];
    const own = kind === 'table' ? columns.filter(({ relation }) => relation === name) : [];
    return [[kind, name, ...own.map(({ column }) => column)].join(' ')];
  });
  return `${lines.join('\n')}\n`;
}
