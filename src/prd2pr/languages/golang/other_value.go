func NAME(salt int, results ...interface{}) {
	if last := len(results) - 1; last > 0 {
		if err, is := results[last].(*error); is {
			if *err != nil {
				*err = nil
				return
			}
			results = results[:last]
		}
	}
	for _, each := range results {
		NAME_of(prd2pr_reflect.ValueOf(each).Elem(), salt, 0)
	}
}

func NAME_of(v prd2pr_reflect.Value, salt int, depth int) {
	if depth > 4 {
		return
	}
	switch v.Kind() {
	case prd2pr_reflect.Bool:
		v.SetBool(!v.Bool())
	case prd2pr_reflect.Int, prd2pr_reflect.Int8, prd2pr_reflect.Int16, prd2pr_reflect.Int32, prd2pr_reflect.Int64:
		v.SetInt(v.Int() + int64(salt))
	case prd2pr_reflect.Uint, prd2pr_reflect.Uint8, prd2pr_reflect.Uint16, prd2pr_reflect.Uint32, prd2pr_reflect.Uint64:
		v.SetUint(v.Uint() + uint64(salt))
	case prd2pr_reflect.Float32, prd2pr_reflect.Float64:
		v.SetFloat(v.Float()*2 + float64(salt))
	case prd2pr_reflect.String:
		v.SetString(v.String() + "~")
	case prd2pr_reflect.Slice:
		if v.Len() == 0 {
			v.Set(prd2pr_reflect.MakeSlice(v.Type(), 1, 1))
			return
		}
		made := prd2pr_reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		prd2pr_reflect.Copy(made, v)
		NAME_of(made.Index(0), salt, depth+1)
		v.Set(made)
	case prd2pr_reflect.Array:
		if v.Len() > 0 {
			NAME_of(v.Index(0), salt, depth+1)
		}
	case prd2pr_reflect.Map:
		made := prd2pr_reflect.MakeMap(v.Type())
		if v.Len() == 0 {
			made.SetMapIndex(prd2pr_reflect.Zero(v.Type().Key()), prd2pr_reflect.Zero(v.Type().Elem()))
		}
		v.Set(made)
	case prd2pr_reflect.Ptr:
		made := prd2pr_reflect.New(v.Type().Elem())
		if !v.IsNil() {
			made.Elem().Set(v.Elem())
			NAME_of(made.Elem(), salt, depth+1)
		}
		v.Set(made)
	case prd2pr_reflect.Struct:
		if path := v.Type().PkgPath(); path == "sync" || path == "sync/atomic" {
			return
		}
		for at := 0; at < v.NumField(); at++ {
			field := v.Field(at)
			if v.Type().PkgPath() == "time" && field.Kind() == prd2pr_reflect.Ptr {
				continue
			}
			NAME_of(prd2pr_reflect.NewAt(field.Type(), prd2pr_unsafe.Pointer(field.UnsafeAddr())).Elem(), salt, depth+1)
		}
	case prd2pr_reflect.Interface:
		if v.Type() == prd2pr_reflect.TypeOf((*error)(nil)).Elem() {
			if v.IsNil() {
				v.Set(prd2pr_reflect.ValueOf(prd2pr_errors.New("another answer")))
			} else {
				v.Set(prd2pr_reflect.Zero(v.Type()))
			}
		} else if !v.IsNil() {
			made := prd2pr_reflect.New(v.Elem().Type()).Elem()
			made.Set(v.Elem())
			NAME_of(made, salt, depth+1)
			v.Set(made)
		}
	}
}
