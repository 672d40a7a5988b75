// node schema.mjs AJV SCHEMA FILE... prints where each FILE differs from SCHEMA, as JSON; null stands for
// nowhere. AJV is the validator's folder.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [ajv, schema, ...files] = process.argv.slice(2);
const Ajv = createRequire(import.meta.url)(ajv);
const read = name => JSON.parse(readFileSync(name, "utf8"));
const validate = new Ajv({ strict: false }).compile(read(schema));
console.log(JSON.stringify(files.map(file => (validate(read(file)) ? null : validate.errors))));
